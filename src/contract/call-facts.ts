/**
 * The facts that the end of a call states besides its usage (`domain/call-facts.ts`): in requests, and in the answers
 * that show them.
 */
import { z } from 'zod';
import type { EndFacts, ListedFacts, ReadFacts } from '../domain/call-facts.ts';
import { TEXT_LENGTH_MAX, text, tokens } from './fields.ts';

const label = text(TEXT_LENGTH_MAX);

/** Facts that only the answer of the end shows. */
export const EndFactFields = z.object({
  reasoningEffort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .optional()
    .describe('Executed reasoning effort, if known'),
  reasoningEffortSource: z
    .enum(['provider_response', 'provider_request', 'gateway_config', 'model_default'])
    .optional()
    .describe('How the effort is known'),
  reasoningMode: label.optional().describe('Provider-specific thinking mode'),
  reasoningBudgetTokens: tokens.optional().describe('Thinking budget'),
} satisfies Record<keyof EndFacts, z.ZodOptional>);

/** Facts that readings of the call also show. */
export const ReadFactFields = z.object({
  requestedServiceTier: text(50)
    .optional()
    .describe("Requested service tier, in the vendor's word; the one that served the call is billed"),
} satisfies Record<keyof ReadFacts, z.ZodOptional>);

/** Facts that the list of calls also has. */
export const ListedFactFields = z.object({
  providerUsed: label.optional().describe('Executing vendor'),
  modelUsed: text(300).optional().describe('Model that ran'),
} satisfies Record<keyof ListedFacts, z.ZodOptional>);

type Listed = (typeof ListedFactFields)['shape'];
type Told<Name extends keyof Listed> = ReturnType<Listed[Name]['unwrap']>;

/**
 * The listed facts in an answer. Texts of vendors are recorded too, and may be longer than a request's texts may be.
 */
function listedAs(absent: (fact: z.ZodType) => z.ZodType): Record<string, z.ZodType> {
  const told = (fact: z.ZodOptional) => {
    const sent = fact.unwrap();
    return absent(sent instanceof z.ZodString ? z.string() : (sent as z.ZodType)).describe(fact.description ?? '');
  };
  return Object.fromEntries(Object.entries(ListedFactFields.shape).map(([name, fact]) => [name, told(fact)]));
}

/** In the answer of the end. */
export const ListedInEnd = listedAs((fact) => fact.optional()) as { [Name in keyof Listed]: z.ZodOptional<Told<Name>> };

/** In readings and in the list: null if nothing was reported. */
export const ListedInAnswers = listedAs((fact) => fact.nullable()) as {
  [Name in keyof Listed]: z.ZodNullable<Told<Name>>;
};
