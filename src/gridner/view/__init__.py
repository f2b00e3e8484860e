"""Everything that is looked at: drawings, notebooks, the report, the grid."""
