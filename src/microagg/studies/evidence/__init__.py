"""Evidence packs: what an auditor needs of a release, in one file, and their verification.

A public pack holds what is published anyway; an internal pack is for the data holder.
"""
