/**
 * `npm run check` finds everything unused: files, exports, types and packages. `knip` finds what the whole repository
 * leaves unused, and exports that only their own file uses; `knip --production` finds what only the tests use.
 */
import type { KnipConfig } from 'knip';

/** Commands, Workers, the package's entry points, and pages of the site: they are started or imported from outside. */
const PRODUCT = [
  'src/cli/{build-client,build-site,catalog,demo,deploy,guard,operator,start,vendor}.ts!',
  'src/client/{index,vendors,hono,express,sampling,compression,testing}.ts!',
  'src/client/examples/*.ts!',
  'durable-objects/demo/history-worker.ts!',
  'src/site/docs/site.ts!',
  'src/console/browser/console.ts!',
  'src/site/docs/browser/docs.ts!',
  'src/site/embed/browser/{embed,opening,widget}.ts!',
  'src/history/schema/index.ts!',
];

/** Tests, suites, and the programs that they start by name. */
const TESTS = [
  'test/**/*.test.ts',
  'test/**/vitest.config.ts',
  'test/{changed,closing-report}.ts',
  'test/*/{attack,bench,cap,clients,compression,crash,fuzz,ledger,mutants,newcomer,readings,runtimes}.ts',
  'test/bench/{counting-worker,gateway-vendor,held-worker,object-floor,timed-worker,vendor-streams}.ts',
  'test/bench/floor-worker.js',
  'test/browser/shared.ts',
  'test/crash/serve.ts',
  'test/e2e/{prepared-state,rewriting-worker}.ts',
  'test/mutants/same-examples.ts',
  'test/runtimes/program.ts',
  'test/support/{helps,worker-setup}.ts',
];

/** Packages that tests install, start or read by their path. */
const BY_PATH = [
  '@arethetypeswrong/cli',
  '@fontsource-variable/inter',
  '@hey-api/openapi-ts',
  'openapi-fetch',
  'openapi-typescript',
  'publint',
];

export default ({ production }: { production?: boolean }): KnipConfig => ({
  entry: [...PRODUCT, ...TESTS],
  project: ['src/**/*.{ts,tsx,mjs}!', 'durable-objects/**/*.ts!', 'test/**/*.{ts,js}'],
  ignoreDependencies: BY_PATH,
  // The build writes the file that it stands for; here its types do.
  paths: { '#scripts': ['src/ui/scripts.d.ts'] },
  // A test may read a bound or a table that its own file uses: what nothing else uses lives for the test.
  ignoreExportsUsedInFile: production ?? false,
});
