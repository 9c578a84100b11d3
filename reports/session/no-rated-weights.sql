-- Without --weights every carrier rates in whole pounds, and no weight has to be looked up.
create or replace temp table rated_weights (
    carrier varchar, billable_weight decimal(18, 4), billable_weight_unit varchar, rated bigint
)
