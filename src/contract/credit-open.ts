/**
 * The entries that an organization opens for credit: a parameter of a request that the service does not know, a
 * component of a price without a rate, or everything.
 */
import { z } from 'zod';

/** The most entries of one organization. */
export const CREDIT_OPEN_MAX = 100;

/** The forms of requests that an entry can name. */
export const FORMS = [
  'chat',
  'responses',
  'messages',
  'generateContent',
  'compact',
  'completions',
  'embeddings',
  'embedContent',
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'moderations',
] as const;

const ENTRY = new RegExp(`^(\\*|field:(${FORMS.join('|')})/[A-Za-z0-9_.*-]{1,200}|component:[A-Za-z0-9]{1,50})$`);

const ENTRY_RULE = [
  `must be \`field:{form}/{path}\` with a form of ${FORMS.join(', ')}`,
  'and a path of 1 to 200 letters, digits, `_`, `-`, `.` or `*`;',
  '`component:{name}` with a name of 1 to 50 letters or digits; or `*`',
].join(' ');

export const creditOpen = z
  .array(z.string().regex(ENTRY, ENTRY_RULE))
  .max(CREDIT_OPEN_MAX)
  .describe(
    'What credit may pay for although its cost has no bound or no rate: an unknown parameter of a request (`field:chat/min_p`), a component without a rate (`component:codeMinutes`), or everything (`*`). What the vendor then reports without a rate is charged by the hold until it can be priced; what it does not report is not charged',
  );
