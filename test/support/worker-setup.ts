/**
 * Before each worker test file: nothing stored, nothing in memory, and the tables as a deploy leaves them. The files
 * share one workerd and its modules, because starting the one and evaluating the others costs more than most files.
 */
import { emptyEverything } from './empty.ts';

await emptyEverything();
