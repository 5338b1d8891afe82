"""SPSS, Stata and SAS files through pyreadstat: values, types, labels, names, sidecar files."""
