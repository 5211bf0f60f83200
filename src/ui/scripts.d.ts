/**
 * `#scripts`: where the pages' scripts are served. The build writes it when it bundles them (src/cli/build-site.ts). A path
 * contains a hash of its script, so that the script can be cached forever; only `embed`, which pages of others name, has none.
 */
declare const scripts: Readonly<Record<'docs' | 'console' | 'opening' | 'widget' | 'embed', string>>;
export default scripts;
