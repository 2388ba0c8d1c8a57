// Imported first by what people start: keeps what was compiled. Taking the types out of TypeScript takes as long as all the rest of
// a start and 25 MiB; compiled code is found by the text that it was made of. In this folder, since what lies there is run.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/muster'))
// It is written at the end of a process, which may be its death.
setTimeout(flushCompileCache, 10_000).unref()
