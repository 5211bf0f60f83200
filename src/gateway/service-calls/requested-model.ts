/**
 * The model that a vendor's request names: in its path for Google, otherwise in its body. The path is plain
 * (`../../domain/open-paths.ts`), so that the vendor finds the same name in it.
 */
import { text } from '../../contract/fields.ts';
import type { CallRequest } from '../../contract/unified-call.ts';
import { endpointAt } from '../demand/endpoints.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;

/** A model's name as a call records it. */
const modelName = text(300);
/** Google's endpoints, which take no model from the body. */
const OF_GOOGLE: readonly (string | undefined)[] = ['generateContent', 'embedContent'];

/** `url` is the whole address, or its path. */
export function requestedModel({ url, body }: Pick<VendorRequest, 'url' | 'body'>): string | undefined {
  const path = URL.parse(url)?.pathname ?? url;
  const [, inPath] = /\/models\/([^/:]+):\w+\/?$/.exec(path) ?? [];
  if (inPath !== undefined) return nameInPath(decodeURIComponent(inPath));
  return OF_GOOGLE.includes(endpointAt(path)?.name) ? undefined : modelName.safeParse(body?.model).data;
}

/** A path with a second verb names no certain model. */
function nameInPath(name: string): string | undefined {
  return name.includes(':') ? undefined : modelName.safeParse(name).data;
}
