/** The file in which ECharts brings everything comes without types of its own. */
declare module 'echarts/dist/echarts.esm.min' {
  export { init } from 'echarts/core';
}
