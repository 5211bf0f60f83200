/**
 * The parts of a wrangler.toml that a deployment needs: the Worker's name, its storage, its secrets.
 */
import { unstable_readConfig } from 'wrangler';

export interface Configuration {
  file: string;
  worker: string;
  databases: Database[];
  namespaces: { binding: string; id: string | undefined }[];
  /** The secrets that wrangler requires for a deployment. */
  secrets: readonly string[];
}

interface Database {
  binding: string;
  name: string;
  /** If it has one, somebody else made the database. */
  id: string | undefined;
}

/** The part of wrangler's configuration that is read: its package does not contain the types. */
interface Read {
  name: string | undefined;
  d1_databases: { binding: string; database_name?: string; database_id?: string }[];
  kv_namespaces: { binding: string; id?: string }[];
  secrets?: { required?: string[] };
}

/** Throws if the file cannot be read, or lacks the name of the Worker or of a database. */
export function readConfiguration(file: string): Configuration {
  const { name: worker, d1_databases, kv_namespaces, secrets } = unstable_readConfig({ config: file }) as Read;
  if (!worker) throw new Error(`${file} has no name of a Worker`);
  if (d1_databases.length === 0) throw new Error(`${file} binds no database`);
  return {
    file,
    worker,
    databases: d1_databases.map(({ binding, database_name: name, database_id: id }) => {
      // wrangler would make another database with each deployment that fails before the Worker is uploaded.
      if (!name && !id) throw new Error(`${binding} in ${file} needs a database_name`);
      return { binding, name: name ?? binding, id };
    }),
    namespaces: kv_namespaces.map(({ binding, id }) => ({ binding, id })),
    secrets: secrets?.required ?? [],
  };
}

/** The name that wrangler gives to a namespace that it makes for a binding. */
export function ownName(worker: string, binding: string): string {
  return `${worker}-${binding.toLowerCase().replaceAll('_', '-')}`;
}
