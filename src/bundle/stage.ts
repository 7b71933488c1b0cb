/** `npm run stage`: lays out in `.cache/package` what is published. */
import { stagePackage } from './stage-package.ts';

stagePackage('.cache/package');
