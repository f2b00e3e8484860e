"""The paper's tables on any corpus: trainings that are kept, scores of systems, tables and figures."""
