// First import of all programs. Caches compiled code: without the cache, stripping types takes half of a program's start-up time
// and 25 MiB of memory. Node finds cached code by the text of its source. The cache is below this checkout and not in a shared
// temporary folder, because Node executes the cached code and other accounts could plant some there.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/muster'))
// Node writes the cache when the process exits, but not when it is killed. So the cache is also written 10 s after the start.
setTimeout(flushCompileCache, 10_000).unref()
