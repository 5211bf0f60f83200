/**
 * The three levels of compression, by a profile's aggressiveness from 0 to 1.
 *
 * - below 0.3 nothing is lost: JSON without its white space, and needless white space between instructions
 * - from 0.3 also the rewrites of the published list, which keep the sense (`rewrites.ts`)
 * - from 0.7 also rewrites that may change the meaning; answers then say `meaningMayChange`
 */

/** From here on, the rewrites of the published list apply. */
export const SAFE = 0.3;
/** From here on, the meaning may change. */
export const FREE = 0.7;

export const meaningMayChange = (aggressiveness: number): boolean => aggressiveness >= FREE;
