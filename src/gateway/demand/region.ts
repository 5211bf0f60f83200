/**
 * Whether a vendor may run a request in a region that costs more at some vendors.
 *
 * It may, unless the request, its model and the vendor's address together rule it out. If the model's name contains the
 * region, its price already includes it.
 */
import { kindAt, type VendorKind } from '../../domain/vendor-kind.ts';
import type { Fields } from '../../vendors/usage/figures.ts';

export interface Addressed {
  kind: VendorKind;
  /** The vendor's name of the model. */
  model: string;
  body: Fields;
  /** The vendor's address; absent if it is not known. */
  address?: string | undefined;
}

/** Whether the request goes directly to a vendor of its kind, and not through a proxy or to a look-alike. */
export function isDirect({ kind, address = '' }: Pick<Addressed, 'kind' | 'address'>): boolean {
  return kindAt(address) === kind;
}

/**
 * Sources: platform.claude.com/docs/en/manage-claude/data-residency; developers.openai.com/api/docs/guides/data-residency;
 * docs.aws.amazon.com/bedrock, global cross-Region inference; cloud.google.com/vertex-ai, global endpoint.
 */
export function mayRunInRegion(asked: Addressed): boolean {
  if (!isDirect(asked)) return true;
  const { kind, model, body, address = '' } = asked;
  switch (kind) {
    case 'anthropic': {
      const { inference_geo: geo = null, workspace_id: workspace = null } = body;
      // Another workspace may have another default.
      return workspace !== null || !(geo === null || geo === 'global');
    }
    case 'openai':
      // A region has its own host.
      return URL.parse(address)?.hostname !== 'api.openai.com';
    case 'google':
      return false;
    case 'bedrock':
      return !/^(?:bedrock\/)?global\./i.test(model);
    case 'vertex':
      return !/\/locations\/global(?:\/|$)/.test(address);
    default:
      return true;
  }
}
