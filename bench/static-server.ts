// Yardstick for downloads: @fastify/static on a folder. Forked by a bench; the argument is the folder.
import fastifyStatic from '@fastify/static'
import { fastify } from 'fastify'

const app = fastify()
app.register(fastifyStatic, { root: process.argv[2]!, cacheControl: true, immutable: true, maxAge: '1y' })
await app.listen({ host: '127.0.0.1', port: 0 })
process.send!({ port: (app.server.address() as { port: number }).port })
process.on('disconnect', () => process.exit(0))
