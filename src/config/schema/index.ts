/**
 * The tables of the operators' settings. `history/schema/index.ts` has the rules for all columns.
 */
export * from './operator.ts';
export * from './organizations.ts';
