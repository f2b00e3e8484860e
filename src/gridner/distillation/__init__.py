"""Distillation: tag probabilities of teachers for unlabelled text, in a file that a student learns from.

text → sentences → tag probabilities, averaged over teachers (`teachers`) → cells that are not ~0 (`sparse_grid`)
     → a file of JSON lines (`answer_file`, written by `collecting`) → examples of a step (gridner.training.unlabelled)
     → a second term of the loss (gridner.model.loss.soft_cell_loss)

Nothing here needs torch unless a teacher does.
"""
