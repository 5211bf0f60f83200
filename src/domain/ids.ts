/**
 * Ids that a function takes side by side, each with its own type, so that the compiler refuses one in place of another.
 *
 * An id is a string that was checked when it came in: by a schema of the contract, or by a token's signature. Stored
 * ids were checked before.
 */
declare const kind: unique symbol;

type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type OrganizationId = Id<'organization'>;
/** The organization's own identifier of its customer. */
export type CustomerId = Id<'customer'>;
export type CallId = Id<'call'>;
/** The id of an API key. */
export type KeyId = Id<'key'>;

export const asOrganizationId = (checked: string) => checked as OrganizationId;
export const asCustomerId = (checked: string) => checked as CustomerId;
export const asCallId = (checked: string) => checked as CallId;
export const asKeyId = (checked: string) => checked as KeyId;

/** A customer: its id is unique in its organization. */
export interface CustomerKey {
  organizationId: OrganizationId;
  customerId: CustomerId;
}
