/**
 * Shortens wordy phrases wherever they stand: `in order to` becomes `to`, and `it is important to note that` is
 * removed.
 *
 * The meaning may change: a phrase may be meant, or be part of what the prompt is about. `rewrites.ts` has the phrases
 * whose removal keeps the sense. Phrases with a technical meaning (`with respect to`, `at least`) and hedges are not
 * listed.
 */
import { once } from './once.ts';
import { applyRules, compileRules } from './phrases.ts';

const rules = once(() =>
  compileRules([
    {
      place: 'anywhere',
      phrases: [
        ['in order to', 'to'],
        ['due to the fact that', 'because'],
        ['owing to the fact that', 'because'],
        ['on account of the fact that', 'because'],
        ['despite the fact that', 'although'],
        ['in spite of the fact that', 'although'],
        ['regardless of the fact that', 'although'],
        ['under circumstances in which', 'when'],
        ['at this point in time', 'now'],
        ['at the present time', 'now'],
        ['at that point in time', 'then'],
        ['until such time as', 'until'],
        ['during the course of', 'during'],
        ['for the purpose of', 'for'],
        ['for the purposes of', 'for'],
        ['with the exception of', 'except'],
        ['in close proximity to', 'near'],
        ['the vast majority of', 'most'],
        ['on a regular basis', 'regularly'],
        ['on a daily basis', 'daily'],
        ['each and every', 'every'],
        ['first and foremost', 'first'],
        ['make sure that you', 'be sure to'],
      ],
    },
    {
      place: 'sentence opening',
      phrases: [
        'it is important to note that',
        "it's important to note that",
        'it is important to remember that',
        'it is important to understand that',
        'it is worth noting that',
        "it's worth noting that",
        'it is worth mentioning that',
        'it should be noted that',
        'it goes without saying that',
        'please note that',
        'note that',
        'please be aware that',
        'be aware that',
        'please keep in mind that',
        'please remember that',
        'keep in mind that',
        'bear in mind that',
        'as you may know',
        'as you know',
        'as you can see',
        'needless to say',
        'as a matter of fact',
        'for all intents and purposes',
        'basically',
        'essentially',
        'actually',
      ],
    },
    { place: 'adverb', phrases: ['very', 'really', 'basically', 'actually', 'essentially', 'extremely'] },
  ]),
);

export function shortenFiller(prose: string): string {
  return applyRules(prose, rules());
}
