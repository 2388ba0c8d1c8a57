declare const styles: {
  readonly groupBy: string
  readonly lede: string
  readonly stillPending: string
  readonly tools: string
}
export default styles
