#!/usr/bin/env node
import '../../tools/require-node.js'

await import('../../tools/compile-cache.js')
await import('./src/main.ts')
