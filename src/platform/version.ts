/**
 * The version of Callmeter, of the service and of its client library: the one in the root's `package.json`.
 */
import manifest from '../../package.json' with { type: 'json' };

export const SERVICE_VERSION: string = manifest.version;
