/**
 * Prompts in the form of real applications, to measure savings. None is written for a technique.
 */
const ORDERS = Array.from({ length: 20 }, (_, index) => ({
  orderId: 48_200 + index,
  customer: ['Ada Lovelace', 'Alan Turing', 'Grace Hopper'][index % 3],
  country: ['DE', 'FR', 'US', 'BR'][index % 4],
  amountCents: 1_999 + index * 350,
  shipped: index % 5 !== 0,
}));
const WEATHER = {
  place: { city: 'Ulm', country: 'DE', coordinates: { latitude: 48.4, longitude: 9.99 } },
  hours: Array.from({ length: 12 }, (_, hour) => ({ hour, celsius: 8 + (hour % 5), rain: hour % 4 === 0, wind: 3.5 })),
};
const HITS = Array.from({ length: 5 }, (_, rank) => ({
  rank,
  title: `Returns, part ${rank + 1}`,
  text: 'Refunds are possible within 30 days of delivery, provided that the item is unused and in its original packaging.',
}));
/** As `json.dumps` of Python writes it. */
const python = (value: unknown): string =>
  JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (part) => (part.length === 1 ? `${part} ` : part));

export const POLICY =
  'Refunds are possible within 30 days of delivery, provided that the item is unused and in its original packaging.';

export const SUPPORT = `Hello,

I would like you to act as a support agent for Acme Corp. Please make sure that you always answer in the language of the customer!!!

==================== CONTEXT ====================

[Source 1]
${POLICY}

[Source 2]
Due to the fact that shipping costs are charged by the carrier, they are not refunded. In the event that an item arrives broken, the customer is able to choose between a refund and a replacement.

[Source 3]
${POLICY}

==================== QUESTION ====================

It is important to note that the customer is really upset. The customer wrote: "I   want my money back, please!!!"

Could you please answer in order to calm the customer down?   Please note that the answer may have five sentences, and please do not promise anything that the sources do not say.

Thank you very much in advance!
`;

export const ANALYSIS = `You are a data analyst. Here are the last orders:

${JSON.stringify(ORDERS, null, 2)}

Which country has the highest revenue? Answer with the country and the sum in cents.`;

export const CODE = `Please review the following function. In order to be helpful, be specific.

\`\`\`ts
export function total(items: Item[])   {
    // please   keep the order
    return items.reduce((sum, item) => sum + item.price,   0);
}
\`\`\`

The config is {"currency": "EUR", "rounding": "half-up"} and \`total([])\` must be 0. Thanks in advance.`;

export const AGENT = `You are the planner of a sales team.  In order to plan, use the calendar.


Prior to offering a date, check each and every one of the calendars.  Make sure that you offer three dates.
Offer them regardless of whether or not it is a holiday.


Due to the fact that there are many time zones, name the zone.   `;

const system = (content: string) => ({ role: 'system', content });
const user = (content: string) => ({ role: 'user', content });
const tool = (content: string) => ({ role: 'tool', tool_call_id: 'call_1', content });

export const PROMPTS: readonly { name: string; prompt: string | readonly object[] }[] = [
  { name: 'orders as JSON, and a question', prompt: ANALYSIS },
  {
    name: 'the same from Python',
    prompt: `Here are the orders: ${python(ORDERS)}\n\nWhich country has the highest revenue?`,
  },
  {
    name: 'orders as JSON, in German',
    prompt: `Das sind die letzten Bestellungen:\n\n${JSON.stringify(ORDERS, null, 2)}\n\nWelches Land hat den höchsten Umsatz, und wie hoch ist er?`,
  },
  {
    name: 'a tool that answers with JSON',
    prompt: [
      system('You are the weather desk of a hotel. Be kind. Do not guess at what the tools do not know.'),
      user('Will it rain in Ulm in the afternoon, and do I need a coat?'),
      tool(JSON.stringify(WEATHER, null, 2)),
    ],
  },
  {
    name: 'found passages as JSON',
    prompt: [
      system('You are the help desk of Acme. Be brief. Do not promise what the sources do not promise.'),
      user(`<sources>\n${JSON.stringify(HITS, null, 2)}\n</sources>\n\nUntil when may I bring the shoes to the shop?`),
    ],
  },
  {
    name: 'an agent with plain instructions',
    prompt: AGENT,
  },
  { name: 'support with sources in prose', prompt: SUPPORT },
  { name: 'a review of code', prompt: CODE },
  {
    name: 'a text to translate',
    prompt: 'Translate into French:\n\nCould you please send us the invoice?   Thank you very much in advance!',
  },
];
