-- What was made of a rated weight already tells its pounds, its weight and its unit.
create or replace temp macro rated_as(rated) as rated
