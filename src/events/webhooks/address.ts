/**
 * The addresses to which events may be sent. The operator may register any http or https address; an organization only
 * those that a stranger may make the service ask: https and a public host.
 */
import { type CheckedUrl, checkVendorUrl } from '../../vendors/address.ts';

export function checkWebhookUrl(url: string, registeredBy: 'operator' | 'tenant'): CheckedUrl {
  return checkVendorUrl(url, registeredBy === 'operator' ? [url] : []);
}
