declare const styles: {
  readonly actor: string
  readonly data: string
  readonly day: string
  readonly event: string
  readonly failed: string
  readonly log: string
  readonly reason: string
  readonly seal: string
  readonly sentence: string
  readonly whole: string
}
export default styles
