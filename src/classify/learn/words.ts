/** Words in the names of channels. */

/** `subscribeObject`, `watch`, `monitorOn`. */
export const SUBSCRIBES = /subscri|monitor|watch|observe|listen|regist|attach|follow|track/i;

/** `unSubscribeObject`, `monitorStop`, `watchOff`. */
export const UNSUBSCRIBES =
  /un-?_?(?:subscri|monitor|watch|observe|listen|regist|follow|track|bind)|de-?regist|detach|remove|stop|release|cancel|leave|forget|end$|off$/i;
