#!/usr/bin/env node
import '../../tools/compile-cache.js'

await import('./src/main.ts')
