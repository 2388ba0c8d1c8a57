declare const styles: {
  readonly jobs: string
  readonly last: string
  readonly progress: string
  readonly tools: string
  readonly words: string
}
export default styles
