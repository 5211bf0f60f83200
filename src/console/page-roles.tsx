/**
 * The pages that not every operator may open, and links that only lead where the operator may go. Every page is open
 * from the role viewer on, except those that load an operation of a higher role.
 */
import { createContext, type FC, type PropsWithChildren, useContext } from 'hono/jsx';
import { type Operation, operations } from '../contract/operations.ts';
import { includesRole, type OperatorRole } from '../contract/roles.ts';
import { CONSOLE_PATH } from './paths.ts';

/** The operation that a page loads, by the page's path below its organization. */
const GUARDED: readonly (readonly [path: RegExp, loads: Operation])[] = [
  [/^\/webhooks(\/|$)/, operations.listWebhooks],
  [/^\/samples\/[^/]+$/, operations.readSample],
];

const OF_ORGANIZATION = new RegExp(`^${CONSOLE_PATH}/organizations/[^/]+`);

/** Whether an operator with the role may open the page at an address. */
export function mayOpen(role: OperatorRole, href: string): boolean {
  const [path = ''] = href.replace(OF_ORGANIZATION, '').split(/[?#]/);
  return GUARDED.every(([guarded, { security }]) => {
    const isOpen = security.kind === 'operator' && includesRole(role, security.role);
    return isOpen || !guarded.test(path);
  });
}

/** The role of the operator who reads the page. */
export const ReaderRole = createContext<OperatorRole>('viewer');

/** A link to a page of the console; its text alone if the operator may not open the page. */
export const PageLink: FC<PropsWithChildren<{ href: string; title?: string }>> = ({ children, ...link }) =>
  mayOpen(useContext(ReaderRole), link.href) ? <a {...link}>{children}</a> : <span title={link.title}>{children}</span>;
