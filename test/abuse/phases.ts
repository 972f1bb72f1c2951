/** Phases of a flood, in order. Only calls of `CALM` and `FLOOD` are compared. */
export const WARM_UP = 'warm-up';
export const CALM = 'calm';
export const FLOOD = 'flood';
export const RECOVERY = 'recovery';
