// First import of all programs. Caches compiled code: without the cache, stripping types takes half of a program's start-up
// time and 25 MiB of memory. Node finds cached code by the text of its source. Node executes the code in the cache, so the
// cache is below this checkout. In a shared temporary folder, other accounts could plant code.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/muster'))
// Node writes the cache when the process exits, but not when it is killed. So the cache is also written 10 s after the start.
setTimeout(flushCompileCache, 10_000).unref()
