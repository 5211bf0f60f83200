/**
 * From which aggressiveness, 0 to 1, a rule applies. Rules without a grade here apply from 0.
 *
 * `techniques.ts` has the table of what each technique does at each grade.
 */

/** Wording is shortened; what is said stays the same. */
export const MODERATE = 0.3;

/** Emphasis, asides and nuance go as well. */
export const STRONG = 0.7;
