declare const styles: {
  readonly agent: string
}
export default styles
