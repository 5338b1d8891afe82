"""Tables to try things on: made up here, or read from the reference data. May import table and
kernels.

>>> from microagg import datasets
>>> datasets.households(200).num_rows
200
"""

from microagg.datasets.companies import companies
from microagg.datasets.households import households
from microagg.datasets.persons import persons
from microagg.datasets.residents import residents
from microagg.datasets.runs import in_chunks

# These names win over the files of the same name: `datasets.persons(100)` is a table.
__all__ = ["companies", "households", "in_chunks", "persons", "residents"]
