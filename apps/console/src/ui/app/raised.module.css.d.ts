declare const styles: {
  readonly raised: string
}
export default styles
