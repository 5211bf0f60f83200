/**
 * The aggressiveness, 0 to 1, from which rules apply. Rules without a grade apply from 0.
 *
 * `techniques.ts` has the table of what each technique does at each grade.
 */

/** Shortens wording; the meaning stays. */
export const MODERATE = 0.3;

/** Also removes emphasis, asides and nuance. */
export const STRONG = 0.7;
