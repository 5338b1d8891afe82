"""The scikit-learn transformer: fit groups on a table, transform rows to the values that groups
share.

May import release and everything below it; scikit-learn (the extra `sklearn`) is imported here and
nowhere else.
"""
