/**
 * `#scripts`: the paths of the pages' scripts. The build writes this module when it bundles the scripts
 * (src/cli/build-site.ts). A path contains a hash of its script, so that browsers can cache it forever. Only `embed`
 * has no hash, because pages of others name it.
 */
declare const scripts: Readonly<Record<'docs' | 'console' | 'opening' | 'widget' | 'embed', string>>;
export default scripts;
