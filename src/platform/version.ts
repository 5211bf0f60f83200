/**
 * The version of Callmeter that runs: the package's own.
 */
import manifest from '../../package.json' with { type: 'json' };

export const SERVICE_VERSION: string = manifest.version;
