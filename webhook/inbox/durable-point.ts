/** The places of the fault matrix (docs/faults.md) at which a kill -9 must lose nothing; tests end the process right there. */

/**
 * D1 delivery written, D2 linked and durable, D3 answered, D4 archived and accepted by Temporal, D5 trimmed.
 * Called with a name right after that point was passed.
 */
export type DurablePoint = (name: 'D1' | 'D2' | 'D3' | 'D4' | 'D5') => void;
