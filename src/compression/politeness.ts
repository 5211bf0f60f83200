/**
 * Removes courtesy: `Could you please summarize` becomes `Summarize`, and `Thank you in advance!` is removed.
 *
 * Only at the start of a clause, at the end of a sentence, or as the first or last sentence: `Say please and thank you`
 * stays, and so does `Thank you.` within a text to translate. Plain questions (`Can you swim?`) stay, because they may
 * be meant. The meaning may change nevertheless: politeness may be what a prompt is about.
 */
import { once } from './once.ts';
import { applyRules, compileRules } from './phrases.ts';

const rules = once(() =>
  compileRules([
    {
      place: 'clause opening',
      phrases: [
        'i would like you to',
        "i'd like you to",
        'i would love for you to',
        'i want you to',
        'i need you to',
        'i would appreciate it if you could',
        'i would really appreciate it if you could',
        "i'd appreciate it if you could",
        'i would be grateful if you could',
        'i was wondering if you could',
        'i was hoping you could',
        'it would be great if you could',
        'would it be possible for you to',
        'would you be so kind as to',
        'would you be able to',
        'your task is to',
      ],
    },
    {
      place: 'clause opening',
      phrases: [
        'please',
        'kindly',
        'could you please',
        'can you please',
        'would you please',
        'will you please',
        'could you kindly',
        'please kindly',
      ],
    },
    {
      place: 'closing',
      phrases: ['please', 'thank you', 'thanks', 'if you please', 'thank you very much', 'many thanks'],
    },
    {
      place: 'whole sentence',
      phrases: [
        'thank you',
        'thank you very much',
        'thank you so much',
        'thank you in advance',
        'thank you very much in advance',
        'thank you for your help',
        'thank you for your time',
        'thank you for your assistance',
        'thank you for your understanding',
        'thanks',
        'thanks a lot',
        'thanks so much',
        'thanks in advance',
        'thanks for your help',
        'many thanks',
        'i appreciate your help',
        'i really appreciate your help',
        'i really appreciate it',
        'your help is greatly appreciated',
        'any help is appreciated',
        'any help would be appreciated',
        'i hope this makes sense',
        'i hope that makes sense',
        'i hope this helps',
        'i hope you are doing well',
        'i hope you are doing well today',
        "i hope you're doing well",
        'hope you are doing well',
        'hope you are well',
        'i hope this message finds you well',
      ],
    },
    {
      place: 'whole sentence',
      phrases: [
        'hello',
        'hello there',
        'hi',
        'hi there',
        'hey',
        'hey there',
        'good morning',
        'good afternoon',
        'good evening',
        'greetings',
        'best regards',
        'kind regards',
      ],
    },
  ]),
);

export function dropPoliteness(prose: string): string {
  return applyRules(prose, rules());
}
