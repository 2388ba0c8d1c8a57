// First import of all programs: stores compiled code. Stripping types takes half of a start and 25 MiB. Cached code is
// found by the text of its source. The cache is in this folder, because code in it is executed.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/muster'))
// Node writes the cache when the process exits, but a killed process never does.
setTimeout(flushCompileCache, 10_000).unref()
