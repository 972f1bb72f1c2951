<%@ page session="false" trimDirectiveWhitespaces="true" contentType="application/json; charset=UTF-8"
    import="java.lang.management.ClassLoadingMXBean, java.lang.management.GarbageCollectorMXBean,
            java.lang.management.ManagementFactory, java.lang.management.MemoryPoolMXBean, java.lang.management.MemoryUsage" %><%--
  What this JVM's own MXBeans say now, in the form of test/jvm/truth/beans.ts.
--%><%!
  private static String json(MemoryUsage usage) {
    if (usage == null) return "null";
    return "{\"init\":" + usage.getInit() + ",\"used\":" + usage.getUsed() + ",\"committed\":" + usage.getCommitted()
        + ",\"max\":" + usage.getMax() + "}";
  }
%><%
  StringBuilder text = new StringBuilder();
  ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
  text.append("{\"classes\":{\"loaded\":").append(classes.getTotalLoadedClassCount());
  text.append(",\"unloaded\":").append(classes.getUnloadedClassCount());
  text.append("},\"heap\":").append(json(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()));
  text.append(",\"nonHeap\":").append(json(ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage()));
  String before = ",\"pools\":{";
  for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
    text.append(before).append('"').append(pool.getName()).append("\":{\"type\":\"").append(pool.getType().name());
    text.append("\",\"usage\":").append(json(pool.getUsage()));
    text.append(",\"collectionUsage\":").append(json(pool.getCollectionUsage())).append('}');
    before = ",";
  }
  before = "},\"collectors\":{";
  for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
    text.append(before).append('"').append(gc.getName()).append("\":{\"count\":").append(gc.getCollectionCount());
    text.append(",\"timeMs\":").append(gc.getCollectionTime()).append('}');
    before = ",";
  }
  out.print(text.append("}}"));
%>
