// First import of all programs: caches compiled code. Without it, stripping types takes half of a start and 25 MiB. Node
// finds cached code by the text of its source. The cache is below this checkout and not in a shared temporary folder,
// because its code is executed.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/muster'))
// Node writes the cache when the process exits, but a killed process never does.
setTimeout(flushCompileCache, 10_000).unref()
