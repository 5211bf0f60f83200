/**
 * The tables of what operators set. What holds for all columns stands in `history/schema/index.ts`.
 */
export * from './operator.ts';
export * from './organizations.ts';
