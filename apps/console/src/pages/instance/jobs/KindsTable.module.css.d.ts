declare const styles: {
  readonly failed: string
  readonly head: string
  readonly runs: string
  readonly unfinished: string
}
export default styles
