// Unpacks the Chromium of the npm package, its libraries and its fonts into the temporary folder of this process. `browser.ts` runs it with
// a temporary folder of its own, because the package keeps files of other versions and half unpacked ones that exist there.
import packaged from '@sparticuz/chromium'

await packaged.executablePath()
