/**
 * The name of a database's binding.
 */
export type DatabaseName = 'DB' | `DB_${number}`;
