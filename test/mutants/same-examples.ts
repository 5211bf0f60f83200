/** Property tests try the same examples for each mutant, so that a run with the same seed finds the same. */
import { configureGlobal } from 'fast-check';

configureGlobal({ seed: 1 });
